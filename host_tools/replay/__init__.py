"""Runs plans on this machine's GPUs, dispatch by dispatch, without TFLite and without the delegate."""
