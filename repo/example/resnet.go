package example

import (
	"fmt"

	"triton/pkg/onnxmodel"
)

// buildResNet50 builds ResNet-50 v1.5, in which the 3x3 convolutions have the strides, with the
// parameter names of torchvision.
func buildResNet50(g *graph) {
	g.input("input", onnxmodel.Float, "batch", 3, 224, 224)
	g.output("output", onnxmodel.Float, "batch", 1000)

	x := g.convolution("conv1", "bn1", "input", 3, 64, 7, 2, 1)
	x = g.op("Relu", in(x))
	x = g.op("MaxPool", in(x), onnxmodel.IntsAttr("kernel_shape", 3, 3),
		onnxmodel.IntsAttr("strides", 2, 2), onnxmodel.IntsAttr("pads", 1, 1, 1, 1))
	channels := int64(64)
	for stage, blocks := range []int{3, 4, 6, 3} {
		width := int64(64) << stage
		for block := range blocks {
			stride := int64(1)
			if block == 0 && stage > 0 {
				stride = 2
			}
			name := fmt.Sprintf("layer%d.%d", stage+1, block)
			x = g.bottleneck(name, x, channels, width, stride)
			channels = 4 * width
		}
	}
	x = g.op("GlobalAveragePool", in(x))
	x = g.op("Flatten", in(x), onnxmodel.IntAttr("axis", 1))
	w := g.scaledWeight("fc.weight", 1, channels, 1000, channels)
	b := g.uniformWeight("fc.bias", 0.02, 1000)
	g.result("output", "Gemm", in(x, w, b), onnxmodel.IntAttr("transB", 1))
}

// bottleneck returns one residual block: 1x1, 3x3 and 1x1 convolutions beside a
// shortcut, which is a convolution itself where the shape changes.
func (g *graph) bottleneck(name, x string, channels, width, stride int64) string {
	y := g.op("Relu", in(g.convolution(name+".conv1", name+".bn1", x, channels, width, 1, 1, 1)))
	y = g.op("Relu", in(g.convolution(name+".conv2", name+".bn2", y, width, width, 3, stride, 1)))
	// Each of the sixteen blocks adds its result to its input. A scale of 0.5 keeps the sums
	// in the range of trained models.
	y = g.convolution(name+".conv3", name+".bn3", y, width, 4*width, 1, 1, 0.5)
	if channels != 4*width {
		x = g.convolution(name+".downsample.0", name+".downsample.1", x, channels, 4*width, 1, stride, 1)
	}
	return g.op("Relu", in(g.op("Add", in(y, x))))
}

// convolution returns a convolution without bias, followed by a batch normalization with the
// given scale.
func (g *graph) convolution(conv, bn, x string, from, to, kernel, stride int64, scale float32) string {
	pad := kernel / 2
	w := g.scaledWeight(conv+".weight", 2, from*kernel*kernel, to, from, kernel, kernel)
	x = g.op("Conv", in(x, w),
		onnxmodel.IntsAttr("kernel_shape", kernel, kernel),
		onnxmodel.IntsAttr("strides", stride, stride),
		onnxmodel.IntsAttr("pads", pad, pad, pad, pad))
	return g.op("BatchNormalization", in(x,
		g.constantWeight(bn+".weight", to, scale),
		g.uniformWeight(bn+".bias", 0.1, to),
		g.uniformWeight(bn+".running_mean", 0.1, to),
		g.constantWeight(bn+".running_var", to, 1),
	), onnxmodel.FloatAttr("epsilon", 1e-5))
}
