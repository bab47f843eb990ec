package org.quadra.runner;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertTrue;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.zip.ZipFile;
import org.junit.Assume;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.annotation.Config;

/** The classes that run here, inside Android's, are those that were dexed for the APK. */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 34, manifest = Config.NONE)
@SuppressWarnings("deprecation") // of Config.manifest: a later JDK says so here, too
public class DexedClassesTest {
  @Test
  public void everyClassOfTheApkIsTheOneThatRunsHere() throws Exception {
    String apk = System.getProperty("quadra.apk");
    Assume.assumeNotNull(apk);
    int count = 0;
    try (ZipFile archive = new ZipFile(apk);
        BufferedReader rows = reader(archive)) {
      for (String row; (row = rows.readLine()) != null; count++) {
        String[] words = row.split("  ", 2);
        String name =
            words[1].substring(0, words[1].length() - ".class".length()).replace('/', '.');
        Class<?> loaded = Class.forName(name, false, DexedClassesTest.class.getClassLoader());
        assertEquals(name, words[0], digest(loaded, words[1]));
      }
    }
    assertTrue("only " + count + " classes", count > 20);
  }

  private static BufferedReader reader(ZipFile archive) throws IOException {
    InputStream list = archive.getInputStream(archive.getEntry("assets/classes.sha256"));
    return new BufferedReader(new InputStreamReader(list, StandardCharsets.UTF_8));
  }

  /** The digest of the file that its loader read it from. */
  private static String digest(Class<?> loaded, String file) throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (InputStream stream = loaded.getResourceAsStream("/" + file)) {
      assertNotNull(file, stream);
      byte[] block = new byte[4096];
      for (int count; (count = stream.read(block)) > 0; ) {
        bytes.write(block, 0, count);
      }
    }
    byte[] sha = MessageDigest.getInstance("SHA-256").digest(bytes.toByteArray());
    return String.format("%064x", new BigInteger(1, sha));
  }
}
