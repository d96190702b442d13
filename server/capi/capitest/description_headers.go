package capitest

import (
	"fmt"
	"strings"
)

// C returns the text of the header. Headers other than the first include the first,
// whose prefix is base's.
func (h Header) C(base Header) string {
	var b strings.Builder
	fmt.Fprintf(&b, "/* Generated from server/capi/api.txt by `go generate ./server/capi`; do not edit. */\n#pragma once\n\n")
	if h.Name == base.Name {
		b.WriteString("#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n")
	} else {
		fmt.Fprintf(&b, "#include \"triton/core/%s.h\"\n\n", base.Name)
	}
	h.macros(&b)
	b.WriteString("#ifdef __cplusplus\nextern \"C\" {\n#endif\n")
	for _, item := range h.Items {
		fmt.Fprintf(&b, "\n/* %s */\n", item.Meaning)
		item.declare(&b, h.Prefix)
	}
	b.WriteString("\n#ifdef __cplusplus\n}\n#endif\n")
	return b.String()
}

// macros writes the version and the attributes of functions. Libraries and programs use
// the macros in their own definitions, so the names are part of the API.
func (h Header) macros(b *strings.Builder) {
	fmt.Fprintf(b, `#define %[1]s_API_VERSION_MAJOR %[2]d
#define %[1]s_API_VERSION_MINOR %[3]d

#if defined(_MSC_VER) && defined(_COMPILING_%[1]s)
#define %[1]s_DECLSPEC __declspec(dllexport)
#define %[1]s_ISPEC __declspec(dllimport)
#elif defined(_MSC_VER)
#define %[1]s_DECLSPEC __declspec(dllimport)
#define %[1]s_ISPEC __declspec(dllexport)
#else
#define %[1]s_DECLSPEC __attribute__((visibility("default")))
#define %[1]s_ISPEC __attribute__((visibility("default")))
#endif

`, h.Prefix, h.Major, h.Minor)
}

func (item Item) declare(b *strings.Builder, prefix string) {
	args := strings.Join(item.Args, ", ")
	switch item.Kind {
	case Opaque:
		fmt.Fprintf(b, "typedef struct %[1]s %[1]s;\n", item.Name)
	case Enum:
		fmt.Fprintf(b, "typedef enum %s {\n", item.Tag)
		for i, v := range item.Values {
			separator := ","
			if i == len(item.Values)-1 {
				separator = ""
			}
			fmt.Fprintf(b, "  %s = %d%s\n", v.Name, v.Number, separator)
		}
		fmt.Fprintf(b, "} %s;\n", item.Name)
	case Callback:
		fmt.Fprintf(b, "typedef %s (*%s)(%s);\n", item.Result, item.Name, args)
	case Func:
		fmt.Fprintf(b, "%s_DECLSPEC %s %s(%s);\n", prefix, item.Result, item.Name, args)
	case Entry:
		fmt.Fprintf(b, "%s_ISPEC %s %s(%s);\n", prefix, item.Result, item.Name, args)
	}
}
