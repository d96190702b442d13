package tensor

// Device is the owner of a buffer whose memory the processor cannot address, such as
// that of a GPU. The buffer has no Bytes and is not stable; segments of it are ranges
// of the device's memory. Inputs never use such a buffer: they are copied to the
// processor's memory first. An output uses it only if a backend has written the output
// where the client wants it.
type Device interface {
	Owner
	// Location returns which device it is.
	Location() Location
	// Read fills dst from the device memory that starts at offset, in bytes.
	Read(dst []byte, offset uint64) error
	// Write copies src to the device memory that starts at offset, in bytes.
	Write(src []byte, offset uint64) error
}

// Device returns the device of the memory, or nil if the processor can address it.
func (b *Buffer) Device() Device {
	d, _ := b.owner.(Device)
	return d
}

// WriteTo copies all pieces to a device, one after the other, starting at offset.
func (d *Data) WriteTo(to Device, offset uint64) error {
	for i := range d.Segments() {
		piece := d.Segment(i).Bytes()
		if err := to.Write(piece, offset); err != nil {
			return err
		}
		offset += uint64(len(piece))
	}
	return nil
}
