# The server on NVIDIA's CUDA libraries, for ONNX Runtime with its CUDA provider. It needs a registry and was never
# built by the tests. Context: a folder with triton-native-amd64 of `make packages`, and onnxruntime/ with the libraries
# of the package onnxruntime-gpu for CUDA 13 (libonnxruntime.so*, libonnxruntime_providers_*.so).
FROM nvidia/cuda:13.0.1-cudnn-runtime-ubuntu24.04
COPY --chmod=0755 triton-native-amd64 /opt/tritonserver/bin/triton
COPY onnxruntime/ /opt/tritonserver/lib/
RUN for name in tritonserver perf_analyzer model-analyzer; do ln -s triton /opt/tritonserver/bin/$name; done
ENV PATH=/opt/tritonserver/bin:$PATH
USER 65532:65532
WORKDIR /opt/tritonserver
EXPOSE 8000 8001 8002
ENTRYPOINT ["/opt/tritonserver/bin/triton"]
CMD ["tritonserver", "--model-repository=/models"]
