// Drives a running server with a client that grpc-js makes from the proto files:
// client.js GRPC-ADDRESS PROTO-FOLDER. One line per check; the exit code is the number
// of failures.
const assert = require("node:assert");
const path = require("node:path");
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");

const address = process.argv[2];
const protos = path.resolve(process.argv[3]);
const definition = loader.loadSync(path.join(protos, "grpc_service.proto"), { keepCase: true, longs: Number, defaults: true, oneofs: true, includeDirs: [protos] });
const { inference } = grpc.loadPackageDefinition(definition);
const client = new inference.GRPCInferenceService(address, grpc.credentials.createInsecure());

const call = (method, request = {}, options = {}) =>
  new Promise((done, failed) => client[method](request, options, (error, answer) => (error ? failed(error) : done(answer))));

const refused = async (promise, code, text) => {
  const error = await promise.then(
    () => assert.fail("no error was reported"),
    (e) => e,
  );
  assert.equal(error.code, code, error.message);
  assert.ok(error.details.includes(text), error.details);
};

const ints = (...values) => Buffer.from(Int32Array.from(values).buffer);
const input = (name, datatype, ...shape) => ({ name, datatype, shape });

const row = Int32Array.from({ length: 16 }, (_, i) => i);
const simple = () => ({
  model_name: "simple",
  id: "node",
  inputs: [input("INPUT0", "INT32", 1, 16), input("INPUT1", "INT32", 1, 16)],
  raw_input_contents: [Buffer.from(row.buffer), ints(...Array(16).fill(3))],
});
const repeat = (values, delay) => ({
  model_name: "repeat_int32",
  inputs: [input("IN", "INT32", values.length), input("DELAY", "UINT32", values.length), input("WAIT", "UINT32", 1)],
  raw_input_contents: [ints(...values), ints(...values.map(() => delay)), ints(0)],
});
const numbers = (raw) => Array.from(new Int32Array(raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.length)));

// answers collects what a stream says to the requests.
const answers = (requests, finish) =>
  new Promise((done, failed) => {
    const got = [];
    const stream = client.ModelStreamInfer();
    stream.on("data", (a) => {
      got.push(a);
      if (finish) finish(stream, got);
    });
    stream.on("error", (e) => (e.code === grpc.status.CANCELLED && finish ? done(got) : failed(e)));
    stream.on("end", () => done(got));
    requests.forEach((r) => stream.write(r));
    if (!finish) stream.end();
  });

const checks = {
  async health() {
    assert.equal((await call("ServerLive")).live, true);
    assert.equal((await call("ServerReady")).ready, true);
    assert.equal((await call("ModelReady", { name: "simple" })).ready, true);
    assert.equal((await call("ModelReady", { name: "no_such" })).ready, false);
  },
  async metadata() {
    const m = await call("ModelMetadata", { name: "simple" });
    assert.deepEqual(m.inputs.map((i) => [i.name, i.datatype, i.shape]), [["INPUT0", "INT32", [-1, 16]], ["INPUT1", "INT32", [-1, 16]]]);
    assert.equal((await call("ServerMetadata")).name, "triton");
  },
  async config() {
    assert.equal((await call("ModelConfig", { name: "simple" })).config.max_batch_size, 8);
  },
  async raw_contents() {
    const r = await call("ModelInfer", simple());
    assert.equal(r.id, "node");
    assert.deepEqual(numbers(r.raw_output_contents[0]), Array.from(row, (i) => i + 3));
    assert.deepEqual(numbers(r.raw_output_contents[1]), Array.from(row, (i) => i - 3));
  },
  async typed_contents() {
    const request = { ...simple(), raw_input_contents: [] };
    request.inputs[0].contents = { int_contents: Array.from(row) };
    request.inputs[1].contents = { int_contents: Array(16).fill(3) };
    const r = await call("ModelInfer", request);
    assert.deepEqual(numbers(r.raw_output_contents[0]), Array.from(row, (i) => i + 3));
  },
  async many_at_once() {
    const all = await Promise.all(Array.from({ length: 100 }, () => call("ModelInfer", simple())));
    assert.ok(all.every((r) => numbers(r.raw_output_contents[0])[15] === 18));
  },
  async stream_of_a_decoupled_model() {
    const got = await answers([repeat([5, 6, 7], 1)]);
    assert.deepEqual(got.map((a) => numbers(a.infer_response.raw_output_contents[0])[0]), [5, 6, 7]);
  },
  async stream_of_two_models() {
    const got = await answers([repeat([5, 6], 0), simple()]);
    assert.deepEqual(got.map((a) => a.infer_response.model_name).sort(), ["repeat_int32", "repeat_int32", "simple"]);
  },
  async error_in_a_stream() {
    const got = await answers([{ ...simple(), model_name: "no_such" }, simple()]);
    assert.ok(got[0].error_message.includes("unknown model: 'no_such'"), got[0].error_message);
    assert.equal(numbers(got[1].infer_response.raw_output_contents[0])[0], 3);
  },
  async cancelled_stream() {
    const got = await answers([repeat(Array(100).fill(1), 50)], (stream, so_far) => so_far.length === 2 && stream.cancel());
    assert.equal(got.length, 2);
    assert.equal((await call("ServerLive")).live, true);
  },
  async errors() {
    await refused(call("ModelInfer", { ...simple(), model_name: "no_such" }), grpc.status.NOT_FOUND, "unknown model: 'no_such'");
    await refused(call("ModelInfer", { ...simple(), inputs: [] }), grpc.status.INVALID_ARGUMENT, "expected");
    await refused(call("ModelInfer", repeat([1], 0)), grpc.status.UNIMPLEMENTED, "decoupled");
  },
  async repository_index() {
    const models = (await call("RepositoryIndex")).models.map((m) => m.name);
    assert.ok(models.includes("simple") && models.includes("resnet50"), models);
  },
  async statistics() {
    const [s] = (await call("ModelStatistics", { name: "simple" })).model_stats;
    assert.ok(s.inference_count > 100, s.inference_count);
  },
};

(async () => {
  let failed = 0;
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check();
      console.log(`ok    ${name}`);
    } catch (e) {
      failed++;
      console.log(`FAIL  ${name}\n${e.stack}`);
    }
  }
  client.close();
  console.log(`${Object.keys(checks).length - failed} passed, ${failed} failed, 0 skipped`);
  process.exitCode = failed;
})();
