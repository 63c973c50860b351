"""What separates two configs, and what it takes to get from one to the other."""
