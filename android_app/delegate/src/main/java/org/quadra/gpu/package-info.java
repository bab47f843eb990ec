/**
 * Quadra's GPU delegate for TensorFlow Lite. A program that was written for TensorFlow Lite's own
 * changes its imports.
 */
package org.quadra.gpu;
