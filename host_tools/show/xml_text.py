"""XML of any text: what JUnit files need."""

import re
from xml.etree import ElementTree

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: str) -> str:
    """Without the characters that XML cannot hold, not even escaped."""
    return _NO_XML.sub("\ufffd", text)


def document(root: ElementTree.Element) -> str:
    """The whole file's text."""
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
