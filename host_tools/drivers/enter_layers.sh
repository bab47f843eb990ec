#!/bin/sh
# enter_layers.sh LAYERS COMMAND...: runs the command where /usr is the folders of LAYERS, the first on top, with `:` between them.
# It is started in a mount namespace of its own: nothing else on the machine sees it. The command takes this process's place.
set -e
mount -t overlay overlay -o "ro,lowerdir=$1" /usr
shift
exec "$@"
