package org.quadra.runner;

/** Hears what is being done, before it is done: after a crash the last one says where. */
interface Stages {
  void begin(String stage);
}
