package org.quadra.host;

import android.os.Bundle;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import org.json.JSONException;
import org.json.JSONObject;

/**
 * Tells whoever started this process what an Instrumentation tells the system: a line of JSON each,
 * into the file that the system property quadra.status names. Without one, nothing is told. Whoever
 * asks for it holds this process's standard input open, and ends it by closing that. After the
 * stage that quadra.pause names, this process waits for a byte there.
 */
final class Status {
  private static final CountDownLatch GO_ON = new CountDownLatch(1);

  private final OutputStream stream; // null: nobody listens

  private Status(OutputStream stream) {
    this.stream = stream;
  }

  static Status open() {
    String path = System.getProperty("quadra.status");
    if (path == null) {
      return new Status(null);
    }
    try {
      Status status = new Status(new FileOutputStream(path));
      Thread watch = new Thread(Status::endWithStarter, "starter");
      watch.setDaemon(true);
      watch.start();
      return status;
    } catch (IOException error) {
      throw new IllegalStateException("tell the status to " + path, error);
    }
  }

  void sent(int code, Bundle values) {
    tell("status", code, values);
    String stage = values.getString("stage");
    if (stream != null && stage != null && stage.equals(System.getProperty("quadra.pause"))) {
      try {
        GO_ON.await();
      } catch (InterruptedException error) {
        Thread.currentThread().interrupt();
      }
    }
  }

  void finished(int code, Bundle values) {
    tell("finish", code, values);
  }

  void crashed(Throwable error) {
    Bundle values = new Bundle();
    values.putString("class", error.getClass().getName());
    values.putString("message", String.valueOf(error.getMessage()));
    tell("crash", 0, values);
  }

  private void tell(String what, int code, Bundle values) {
    if (stream == null) {
      return;
    }
    try {
      JSONObject words = new JSONObject();
      for (String key : values.keySet()) {
        words.put(key, values.getString(key));
      }
      JSONObject line = new JSONObject().put("what", what).put("code", code).put("values", words);
      stream.write((line + "\n").getBytes(StandardCharsets.UTF_8));
    } catch (IOException | JSONException error) {
      throw new IllegalStateException("tell the status " + what, error);
    }
  }

  private static void endWithStarter() {
    try {
      while (System.in.read() >= 0) {
        GO_ON.countDown();
      }
    } catch (IOException error) {
      // as if it had been closed
    }
    Runtime.getRuntime().halt(137);
  }
}
