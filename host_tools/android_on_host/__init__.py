"""Android's libraries and Java on this machine: what lets a phone's code run here."""
