"""Android's users, and the processes of the system that are always there."""

ROOT_UID, SYSTEM_UID, SHELL_UID, MEDIA_UID = 0, 1000, 2000, 1023
USERS = {ROOT_UID: "root", SYSTEM_UID: "system", SHELL_UID: "shell", MEDIA_UID: "media_rw"}
SYSTEM_PID = 1206  # of Android's system server, in the log
