// Package rest is the HTTP form of the inference messages: a JSON text, followed
// by the raw bytes of the tensors that are not part of the text. It reads
// requests and writes replies for servers, and the other way round for clients.
// It follows Triton to the letter, error texts included. It does not know HTTP
// itself, nor whether a request fits its model.
package rest
