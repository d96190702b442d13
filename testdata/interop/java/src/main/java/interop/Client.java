package interop;

import inference.GRPCInferenceServiceGrpc;
import inference.GrpcService.ModelConfigRequest;
import inference.GrpcService.ModelInferRequest;
import inference.GrpcService.ModelMetadataRequest;
import inference.GrpcService.ModelReadyRequest;
import inference.GrpcService.ModelStatisticsRequest;
import inference.GrpcService.ModelStreamInferResponse;
import inference.GrpcService.RepositoryIndexRequest;
import inference.GrpcService.ServerLiveRequest;
import inference.GrpcService.ServerMetadataRequest;
import inference.GrpcService.ServerReadyRequest;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * Drives a running server with a client generated from the proto files: Client GRPC-ADDRESS. One line per check;
 * the exit code is the number of failures.
 */
public final class Client {
  private interface Check {
    void run() throws Exception;
  }

  private final GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub stub;
  private final GRPCInferenceServiceGrpc.GRPCInferenceServiceStub async;
  private final ManagedChannel channel;

  private Client(ManagedChannel channel) {
    this.channel = channel;
    stub = GRPCInferenceServiceGrpc.newBlockingStub(channel);
    async = GRPCInferenceServiceGrpc.newStub(channel);
  }

  public static void main(String[] args) throws Exception {
    ManagedChannel channel = ManagedChannelBuilder.forTarget(args[0]).usePlaintext().build();
    int failed = 0;
    Map<String, Check> checks = new Client(channel).checks();
    for (var c : checks.entrySet()) {
      try {
        c.getValue().run();
        System.out.println("ok    " + c.getKey());
      } catch (Throwable e) {
        failed++;
        System.out.println("FAIL  " + c.getKey());
        e.printStackTrace(System.out);
      }
    }
    channel.shutdownNow().awaitTermination(10, TimeUnit.SECONDS);
    System.out.println(checks.size() - failed + " passed, " + failed + " failed, 0 skipped");
    System.exit(failed);
  }

  private Map<String, Check> checks() {
    Map<String, Check> checks = new LinkedHashMap<>();
    checks.put("health", this::health);
    checks.put("health_service", this::healthService);
    checks.put("metadata", this::metadata);
    checks.put("config", this::config);
    checks.put("raw_contents", this::rawContents);
    checks.put("typed_contents", this::typedContents);
    checks.put("compressed", this::compressed);
    checks.put("large", this::large);
    checks.put("stream_of_a_decoupled_model", this::decoupled);
    checks.put("error_in_a_stream", this::errorInStream);
    checks.put("errors", this::errors);
    checks.put("deadline", this::deadline);
    checks.put("repository_index", this::index);
    checks.put("statistics", this::statistics);
    return checks;
  }

  private void health() {
    is(stub.serverLive(ServerLiveRequest.getDefaultInstance()).getLive(), true);
    is(stub.serverReady(ServerReadyRequest.getDefaultInstance()).getReady(), true);
    is(stub.modelReady(ModelReadyRequest.newBuilder().setName("simple").build()).getReady(), true);
    is(stub.modelReady(ModelReadyRequest.newBuilder().setName("no_such").build()).getReady(), false);
  }

  private void healthService() {
    var answer = HealthGrpc.newBlockingStub(channel).check(HealthCheckRequest.getDefaultInstance());
    is(answer.getStatus(), ServingStatus.SERVING);
  }

  private void metadata() {
    is(stub.serverMetadata(ServerMetadataRequest.getDefaultInstance()).getName(), "triton");
    var m = stub.modelMetadata(ModelMetadataRequest.newBuilder().setName("simple").build());
    is(m.getInputs(1).getName(), "INPUT1");
    is(m.getInputs(1).getShapeList(), List.of(-1L, 16L));
  }

  private void config() {
    is(stub.modelConfig(ModelConfigRequest.newBuilder().setName("simple").build()).getConfig().getMaxBatchSize(), 8);
  }

  private void rawContents() {
    var r = stub.modelInfer(Requests.simple().build());
    is(r.getId(), "java");
    sums(Requests.numbers(r.getRawOutputContents(0)), 1);
    sums(Requests.numbers(r.getRawOutputContents(1)), -1);
  }

  private void typedContents() {
    ModelInferRequest.Builder request = Requests.simple().clearRawInputContents();
    for (int i : Requests.ROW) {
      request.getInputsBuilder(0).getContentsBuilder().addIntContents(i);
      request.getInputsBuilder(1).getContentsBuilder().addIntContents(3);
    }
    sums(Requests.numbers(stub.modelInfer(request.build()).getRawOutputContents(0)), 1);
  }

  private void compressed() {
    sums(Requests.numbers(stub.withCompression("gzip").modelInfer(Requests.simple().build()).getRawOutputContents(0)), 1);
  }

  private void large() {
    int[] values = new int[500_000];
    Arrays.setAll(values, i -> i);
    var request = ModelInferRequest.newBuilder().setModelName("identity_int32")
        .addInputs(Requests.input("INPUT0", "INT32", 1, values.length)).addRawInputContents(Requests.raw(values)).build();
    is(stub.modelInfer(request).getRawOutputContents(0), request.getRawInputContents(0));
  }

  private void decoupled() throws Exception {
    List<Integer> got = new ArrayList<>();
    for (var a : stream(async, Requests.repeat(1, 5, 6, 7))) {
      got.add(Requests.numbers(a.getInferResponse().getRawOutputContents(0))[0]);
    }
    is(got, List.of(5, 6, 7));
  }

  private void errorInStream() throws Exception {
    var got = stream(async, Requests.simple().setModelName("no_such").build(), Requests.simple().build());
    contains(got.get(0).getErrorMessage(), "unknown model: 'no_such'");
    sums(Requests.numbers(got.get(1).getInferResponse().getRawOutputContents(0)), 1);
  }

  private void errors() {
    refused(() -> stub.modelInfer(Requests.simple().setModelName("no_such").build()), Status.Code.NOT_FOUND, "no_such");
    refused(() -> stub.modelInfer(Requests.simple().clearInputs().build()), Status.Code.INVALID_ARGUMENT, "expected");
    refused(() -> stub.modelInfer(Requests.repeat(0, 1)), Status.Code.UNIMPLEMENTED, "decoupled");
  }

  private void deadline() throws Exception {
    try {
      stream(async.withDeadlineAfter(200, TimeUnit.MILLISECONDS), Requests.repeat(1000, 1, 2));
    } catch (ExecutionException e) {
      is(Status.fromThrowable(e.getCause()).getCode(), Status.Code.DEADLINE_EXCEEDED);
      return;
    }
    throw new AssertionError("no error was reported");
  }

  private void index() {
    var names = stub.repositoryIndex(RepositoryIndexRequest.getDefaultInstance()).getModelsList().stream().map(m -> m.getName()).toList();
    is(names.contains("simple") && names.contains("resnet50"), true);
  }

  private void statistics() {
    var s = stub.modelStatistics(ModelStatisticsRequest.newBuilder().setName("simple").build()).getModelStats(0);
    is(s.getInferenceCount() > 0, true);
  }

  private static List<ModelStreamInferResponse> stream(GRPCInferenceServiceGrpc.GRPCInferenceServiceStub stub, ModelInferRequest... requests)
      throws Exception {
    List<ModelStreamInferResponse> got = new ArrayList<>();
    CompletableFuture<Void> over = new CompletableFuture<>();
    var sender = stub.modelStreamInfer(new StreamObserver<>() {
      @Override
      public void onNext(ModelStreamInferResponse a) {
        got.add(a);
      }

      @Override
      public void onError(Throwable e) {
        over.completeExceptionally(e);
      }

      @Override
      public void onCompleted() {
        over.complete(null);
      }
    });
    for (var r : requests) {
      sender.onNext(r);
    }
    sender.onCompleted();
    over.get(30, TimeUnit.SECONDS);
    return got;
  }

  private static void refused(Runnable call, Status.Code code, String text) {
    try {
      call.run();
    } catch (StatusRuntimeException e) {
      is(e.getStatus().getCode(), code);
      contains(String.valueOf(e.getStatus().getDescription()), text);
      return;
    }
    throw new AssertionError("no error was reported");
  }

  private static void sums(int[] got, int sign) {
    int[] want = Arrays.stream(Requests.ROW).map(i -> i + 3 * sign).toArray();
    is(Arrays.toString(got), Arrays.toString(want));
  }

  private static void contains(String text, String part) {
    is(text.contains(part) ? part : text, part);
  }

  private static void is(Object got, Object want) {
    if (!got.equals(want)) {
      throw new AssertionError("got " + got + ", want " + want);
    }
  }
}
