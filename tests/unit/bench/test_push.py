import pytest

from bench import push
from iop_edge.ids import Generation
from iop_edge.push import link
from iop_edge.push.model import Caller
from iop_edge.refresh.result import Mode
from iop_edge.schema.wire import decode
from iop_pb.iop.runtime.v1 import NodeConfigRefreshRequest


@pytest.mark.parametrize("size", [1 << 10, 50 << 10])
def test_payload_is_about_as_large_as_asked_for(size: int) -> None:
    assert size <= len(push.content(size, 1).encoded.data) < size + 100


def test_other_number_is_another_content() -> None:
    assert push.content(10, 1).encoded.tag != push.content(10, 2).encoded.tag


def test_both_contenders_send_the_same_request() -> None:
    desired = push.content(1000, 7)
    ours = link._request(Caller(push._EDGE_ID, push._YARDSTICK_ID), Mode.APPLY, desired, Generation(7))
    theirs = push.whole_request(desired)
    assert decode(NodeConfigRefreshRequest, ours) == decode(NodeConfigRefreshRequest, theirs)
    assert len(ours) == len(theirs)
