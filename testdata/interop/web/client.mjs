// Drives a running server by gRPC-Web: client.mjs URL PROTOSET. One line per check; the exit code is the number of
// failures.
import assert from "node:assert";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { create, createFileRegistry, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, createClient } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-node";

const require = createRequire(import.meta.url);
globalThis.XMLHttpRequest = require("xhr2");
const grpcweb = require("grpc-web");

const [url, protoset] = process.argv.slice(2);
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(protoset)));
const service = registry.getService("inference.GRPCInferenceService");
const requestType = registry.getMessage("inference.ModelInferRequest");

const bytes = (...values) => new Uint8Array(Int32Array.from(values).buffer);
const numbers = (raw) => Array.from(new Int32Array(raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.length)));
const input = (name, datatype, ...shape) => ({ name, datatype, shape: shape.map(BigInt) });
const row = Array.from({ length: 16 }, (_, i) => i);
const simple = (name = "simple") => ({
  modelName: name,
  id: "web",
  inputs: [input("INPUT0", "INT32", 1, 16), input("INPUT1", "INT32", 1, 16)],
  rawInputContents: [bytes(...row), bytes(...row.map(() => 3))],
});
const repeat = (...values) => ({
  modelName: "repeat_int32",
  inputs: [input("IN", "INT32", values.length), input("DELAY", "UINT32", values.length), input("WAIT", "UINT32", 1)],
  rawInputContents: [bytes(...values), bytes(...values.map(() => 1)), bytes(0)],
});
const sums = row.map((v) => v + 3);
const outputs = (responses) => responses.map((r) => numbers(r.inferResponse.rawOutputContents[0])[0]);

const checks = {};
for (const httpVersion of ["1.1", "2"]) {
  const client = createClient(service, createGrpcWebTransport({ baseUrl: url, httpVersion }));
  const name = `Connect over HTTP/${httpVersion}: `;
  checks[name + "live"] = async () => assert.equal((await client.serverLive({})).live, true);
  checks[name + "infer"] = async () => {
    const answer = await client.modelInfer(simple());
    assert.equal(answer.id, "web");
    assert.deepEqual(numbers(answer.rawOutputContents[0]), sums);
  };
  checks[name + "unknown model"] = () =>
    assert.rejects(client.modelInfer(simple("none")), (e) => e.code === Code.NotFound && e.message.includes("unknown model"));
  checks[name + "stream of a decoupled model"] = async () => {
    const got = [];
    async function* requests() {
      yield repeat(7, 8, 9);
      yield repeat(1);
    }
    for await (const r of client.modelStreamInfer(requests())) got.push(r);
    assert.deepEqual(outputs(got).sort(), [1, 7, 8, 9]);
  };
  checks[name + "deadline"] = () =>
    assert.rejects(
      (async () => {
        const slow = repeat(1);
        slow.rawInputContents[1] = bytes(60000);
        for await (const r of client.modelStreamInfer((async function* () { yield slow; })(), { timeoutMs: 200 })) assert.fail(r);
      })(),
      (e) => e.code === Code.DeadlineExceeded,
    );
}
for (const format of ["binary", "text"]) {
  const client = new grpcweb.GrpcWebClientBase({ format });
  const method = (name, kind, response) =>
    new grpcweb.MethodDescriptor(
      `/inference.GRPCInferenceService/${name}`, kind, Object, Object,
      (m) => toBinary(requestType, create(requestType, m)),
      (b) => fromBinary(registry.getMessage(`inference.${response}`), b),
    );
  const infer = method("ModelInfer", grpcweb.MethodType.UNARY, "ModelInferResponse");
  const unary = (m) =>
    new Promise((done, failed) => client.rpcCall(url + infer.name, m, {}, infer, (e, answer) => (e ? failed(e) : done(answer))));
  checks[`grpc-web, ${format}: infer`] = async () => assert.deepEqual(numbers((await unary(simple())).rawOutputContents[0]), sums);
  checks[`grpc-web, ${format}: unknown model`] = () => assert.rejects(unary(simple("none")), (e) => e.code === 5 && e.message.includes("unknown model"));
  if (format === "text") // what the binary format has no streams for
    checks[`grpc-web, ${format}: stream of a decoupled model`] = async () => {
      const stream = method("ModelStreamInfer", grpcweb.MethodType.SERVER_STREAMING, "ModelStreamInferResponse");
      const got = await new Promise((done, failed) => {
        const all = [];
        const call = client.serverStreaming(url + stream.name, repeat(7, 8, 9), {}, stream);
        call.on("data", (r) => all.push(r));
        call.on("error", failed);
        call.on("end", () => done(all));
      });
      assert.deepEqual(outputs(got), [7, 8, 9]);
    };
}

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    console.log(`ok    ${name}`);
  } catch (e) {
    failed++;
    console.log(`FAIL  ${name}: ${String(e.stack ?? e).split("\n").slice(0, 4).join(" | ")}`);
  }
}
process.exit(failed);
