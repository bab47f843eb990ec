"""Every op's test vectors in every precision and storage, on this machine and on a device."""
