package tensor

// Device is the owner of a buffer whose memory the processor cannot address,
// such as that of a GPU. The buffer has no Bytes and is not stable; segments of
// it name a part of the device's memory. Such a buffer is a place that a request
// names. It is never the data of an input: what is read from there is copied
// first. It is the data of an output only where an engine has written the output
// to where the client wants it.
type Device interface {
	Owner
	// Location returns which device it is.
	Location() Location
	// Read copies from the device, beginning at offset in bytes, until dst is full.
	Read(dst []byte, offset uint64) error
	// Write copies to the device, beginning at offset in bytes.
	Write(src []byte, offset uint64) error
}

// Device returns where the memory is when the processor cannot address it, else nil.
func (b *Buffer) Device() Device {
	d, _ := b.owner.(Device)
	return d
}

// WriteTo copies all pieces to a device, one after the other from offset on.
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
