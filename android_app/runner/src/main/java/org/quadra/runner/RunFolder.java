package org.quadra.runner;

import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.json.JSONException;
import org.json.JSONObject;

/**
 * The folder of one run (docs/run_folder.md). A file is written beside its place and renamed: none
 * is ever half there.
 */
final class RunFolder {
  final File path;

  RunFolder(File path) throws RunError {
    this.path = path;
    if (!path.isDirectory() || !path.canWrite()) {
      throw RunError.misuse(
          "write into the run folder " + path,
          path.isDirectory() ? "it cannot be written" : "there is no such folder",
          "give the runner a folder of the app, with spec.json in it (-e folder PATH)");
    }
  }

  boolean has(String name) {
    return new File(path, name).exists();
  }

  /** A folder in it, made if need be. */
  RunFolder inside(String name) throws RunError {
    File folder = new File(path, name);
    folder.mkdirs();
    return new RunFolder(folder);
  }

  String readText(String name) throws RunError {
    return new String(read(new File(path, name)), StandardCharsets.UTF_8);
  }

  void writeJson(String name, JSONObject json) throws RunError {
    try {
      writeText(name, json.toString(1) + "\n");
    } catch (JSONException error) {
      throw RunError.failed("write " + name, error, "report this as a bug");
    }
  }

  void writeText(String name, String text) throws RunError {
    write(new File(path, name), text.getBytes(StandardCharsets.UTF_8));
  }

  /** 000.npy, 001.npy, … of `group`, in the model's order. */
  List<NpyArray> readArrays(String group) throws RunError {
    List<NpyArray> arrays = new ArrayList<>();
    for (File file; (file = arrayFile(new File(path, group), arrays.size())).exists(); ) {
      arrays.add(NpyArray.parse(read(file), file.getPath()));
    }
    return arrays;
  }

  /** Writes a group of arrays; a half written group is never seen. */
  void writeArrays(String group, List<NpyArray> arrays) throws RunError {
    File whole = new File(path, group);
    File partial = new File(path, "." + group + ".new");
    delete(partial);
    delete(whole);
    if (!partial.mkdir()) {
      throw cannotWrite(partial, "the folder cannot be made");
    }
    for (int i = 0; i < arrays.size(); i++) {
      write(arrayFile(partial, i), arrays.get(i).toBytes());
    }
    if (!partial.renameTo(whole)) {
      throw cannotWrite(whole, "the folder cannot be renamed");
    }
  }

  private static File arrayFile(File folder, int index) {
    return new File(folder, String.format(Locale.ROOT, "%03d.npy", index));
  }

  static byte[] read(File file) throws RunError {
    try (FileInputStream stream = new FileInputStream(file)) {
      byte[] bytes = new byte[(int) file.length()];
      int size = 0;
      for (int count;
          size < bytes.length && (count = stream.read(bytes, size, bytes.length - size)) > 0; ) {
        size += count;
      }
      if (size < bytes.length) {
        throw new IOException("it ends early");
      }
      return bytes;
    } catch (IOException error) {
      throw RunError.misuse(
          "read " + file,
          String.valueOf(error.getMessage()),
          "push it again, where the app may read it");
    }
  }

  private static void write(File file, byte[] bytes) throws RunError {
    File temporary = new File(file.getParentFile(), "." + file.getName() + ".new");
    try (FileOutputStream stream = new FileOutputStream(temporary)) {
      stream.write(bytes);
      stream.getFD().sync();
    } catch (IOException error) {
      delete(temporary);
      throw cannotWrite(file, String.valueOf(error.getMessage()));
    }
    if (!temporary.renameTo(file)) {
      delete(temporary);
      throw cannotWrite(file, "it cannot be renamed");
    }
  }

  private static RunError cannotWrite(File file, String cause) {
    return RunError.failed(
        "write " + file, cause, "free space on the device, then run the model again");
  }

  private static void delete(File file) {
    File[] inside = file.listFiles();
    for (int i = 0; inside != null && i < inside.length; i++) {
      delete(inside[i]);
    }
    file.delete(); // what cannot be deleted is met when it is written
  }
}
