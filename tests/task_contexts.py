"""The tasks' arguments as the command line has them. They are made once: invoke takes the help texts out of a task."""

from invoke import Collection

import tasks

CONTEXTS = {context.name: context for context in Collection.from_module(tasks).to_contexts()}
