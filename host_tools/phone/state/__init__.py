"""A device made ready to be measured and put back as it was; what is known of it."""
