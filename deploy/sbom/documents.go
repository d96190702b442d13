package main

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"
)

type object = map[string]any

// identity is the same for the same program: it is part of names that must be unique.
func (p *program) identity() string {
	h := sha256.Sum256([]byte(p.name + p.version + p.sha256))
	h[6], h[8] = h[6]&0x0f|0x80, h[8]&0x3f|0x80 // a UUID of version 8
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// spdx returns an SPDX 2.3 document.
func spdx(p *program) any {
	checksum := func(sum string) []object { return []object{{"algorithm": "SHA256", "checksumValue": sum}} }
	describe := func(id, name, version, license, purl string) object {
		return object{
			"SPDXID": id, "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": false,
			"licenseConcluded": "NOASSERTION", "licenseDeclared": orUnknown(license), "copyrightText": "NOASSERTION",
			"externalRefs": []object{{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}},
		}
	}
	main := describe("SPDXRef-program", p.name, p.version, "Apache-2.0", "pkg:generic/"+p.name+"@"+p.version)
	main["checksums"], main["primaryPackagePurpose"] = checksum(p.sha256), "APPLICATION"
	packages := []object{main}
	relations := []object{{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-program"}}
	for i, c := range p.parts {
		id := fmt.Sprintf("SPDXRef-part-%d", i+1)
		part := describe(id, c.name, c.version, c.license, c.purl)
		if c.sha256 != "" {
			part["checksums"] = checksum(c.sha256)
		}
		packages = append(packages, part)
		relations = append(relations, object{"spdxElementId": "SPDXRef-program", "relationshipType": "DEPENDS_ON", "relatedSpdxElement": id})
	}
	return object{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": p.name + "-" + p.version,
		"documentNamespace": "urn:uuid:" + p.identity(), "packages": packages, "relationships": relations,
		"creationInfo": object{"created": p.created.Format(time.RFC3339), "creators": []string{"Tool: triton-sbom"}},
	}
}

// cyclonedx returns a CycloneDX 1.6 document.
func cyclonedx(p *program) any {
	hashes := func(sum string) []object { return []object{{"alg": "SHA-256", "content": sum}} }
	licenses := func(expression string) []object {
		if strings.Contains(expression, " ") {
			return []object{{"expression": expression}}
		}
		return []object{{"license": object{"id": expression}}}
	}
	main := object{"type": "application", "bom-ref": "program", "name": p.name, "version": p.version, "hashes": hashes(p.sha256), "licenses": licenses("Apache-2.0")}
	var parts []object
	var refs []string
	for _, c := range p.parts {
		part := object{"type": "library", "bom-ref": c.purl, "name": c.name, "version": c.version, "purl": c.purl}
		if c.license != "" {
			part["licenses"] = licenses(c.license)
		}
		if c.sha256 != "" {
			part["hashes"] = hashes(c.sha256)
		}
		parts = append(parts, part)
		refs = append(refs, c.purl)
	}
	return object{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": "urn:uuid:" + p.identity(), "version": 1,
		"metadata":   object{"timestamp": p.created.Format(time.RFC3339), "component": main},
		"components": parts, "dependencies": []object{{"ref": "program", "dependsOn": refs}},
	}
}

// provenance returns an in-toto statement with a SLSA 1 predicate. The builder is this source
// tree's own build: nobody else vouches for it.
func provenance(p *program) any {
	settings := object{}
	revision := ""
	for _, s := range p.build.Settings {
		settings[s.Key] = s.Value
		if s.Key == "vcs.revision" {
			revision = s.Value
		}
	}
	materials := []object{{"uri": "pkg:golang/stdlib@" + strings.TrimPrefix(p.build.GoVersion, "go")}}
	if revision != "" {
		materials = append(materials, object{"uri": "git+" + p.build.Main.Path, "digest": object{"gitCommit": revision}})
	}
	for _, m := range p.build.Deps {
		materials = append(materials, object{"uri": "pkg:golang/" + m.Path + "@" + m.Version, "digest": object{"dirHash": m.Sum}})
	}
	return object{
		"_type": "https://in-toto.io/Statement/v1", "subject": []object{{"name": p.name, "digest": object{"sha256": p.sha256}}},
		"predicateType": "https://slsa.dev/provenance/v1",
		"predicate": object{
			"buildDefinition": object{
				"buildType": "https://go.dev/ref/mod#go-build", "externalParameters": object{"package": p.build.Path, "version": p.version},
				"internalParameters": settings, "resolvedDependencies": materials,
			},
			"runDetails": object{
				"builder":  object{"id": "make packages", "version": object{"go": p.build.GoVersion}},
				"metadata": object{"finishedOn": p.created.Format(time.RFC3339)},
			},
		},
	}
}
