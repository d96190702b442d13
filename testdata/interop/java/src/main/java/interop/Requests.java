package interop;

import com.google.protobuf.ByteString;
import inference.GrpcService.ModelInferRequest;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.stream.IntStream;

/** Requests to the example models, and the numbers of their answers. */
final class Requests {
  static final int[] ROW = IntStream.range(0, 16).toArray();
  static final int[] THREES = IntStream.range(0, 16).map(i -> 3).toArray();

  private Requests() {}

  static ModelInferRequest.Builder simple() {
    return ModelInferRequest.newBuilder()
        .setModelName("simple")
        .setId("java")
        .addInputs(input("INPUT0", "INT32", 1, 16))
        .addInputs(input("INPUT1", "INT32", 1, 16))
        .addRawInputContents(raw(ROW))
        .addRawInputContents(raw(THREES));
  }

  /** One answer for each value, delay milliseconds apart. */
  static ModelInferRequest repeat(int delay, int... values) {
    int[] delays = IntStream.range(0, values.length).map(i -> delay).toArray();
    return ModelInferRequest.newBuilder()
        .setModelName("repeat_int32")
        .addInputs(input("IN", "INT32", values.length))
        .addInputs(input("DELAY", "UINT32", values.length))
        .addInputs(input("WAIT", "UINT32", 1))
        .addRawInputContents(raw(values))
        .addRawInputContents(raw(delays))
        .addRawInputContents(raw(0))
        .build();
  }

  static ModelInferRequest.InferInputTensor.Builder input(String name, String datatype, long... shape) {
    var tensor = ModelInferRequest.InferInputTensor.newBuilder().setName(name).setDatatype(datatype);
    Arrays.stream(shape).forEach(tensor::addShape);
    return tensor;
  }

  static ByteString raw(int... values) {
    ByteBuffer b = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    b.asIntBuffer().put(values);
    return ByteString.copyFrom(b);
  }

  static int[] numbers(ByteString raw) {
    int[] values = new int[raw.size() / 4];
    raw.asReadOnlyByteBuffer().order(ByteOrder.LITTLE_ENDIAN).asIntBuffer().get(values);
    return values;
  }
}
