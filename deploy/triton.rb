# Homebrew formula, built from a source archive. URL and checksum are those of a release, of which there is none yet.
class Triton < Formula
  desc "Inference server with the protocol of NVIDIA Triton, load generator and model checker"
  license "Apache-2.0"
  head "file://#{ENV.fetch("TRITON_SOURCE", Dir.pwd)}", using: :git

  depends_on "go" => :build
  depends_on "onnxruntime"

  def install
    ENV["CGO_ENABLED"] = OS.mac? ? "0" : "1"
    ldflags = "-s -w -funcalign=16 -X main.version=#{version}"
    system "go", "build", "-trimpath", "-tags", "grpcnotrace", *std_go_args(ldflags: ldflags), "./cmd/triton"
    %w[tritonserver perf_analyzer model-analyzer].each { |name| bin.install_symlink "triton" => name }
    generate_completions_from_executable(bin/"triton", "completion")
    system "go", "run", "./deploy/manual", "man1", version.to_s, "0"
    man1.install Dir["man1/*.1"]
  end

  service do
    run [opt_bin/"triton", "serve", "--model-repository", var/"triton/models"]
    keep_alive true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/triton --version")
  end
end
