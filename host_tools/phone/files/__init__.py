"""Files to and from a device, of which nothing is believed before it is checked."""
