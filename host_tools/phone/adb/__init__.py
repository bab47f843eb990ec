"""adb: our server, the connection to one device, and which device a word means."""
