//! PNG encoder.

use std::io::Write as _;

use flate2::{Compression, Crc, write::ZlibEncoder};

/// Encodes RGB pixels as PNG (RFC 2083). The `png` crate would add a second deflate implementation beside the one that
/// is already linked.
pub(super) fn file(pixels: &[u8], (width, height): (u32, u32)) -> std::io::Result<Vec<u8>> {
    let mut header = Vec::new();
    header.extend_from_slice(&width.to_be_bytes());
    header.extend_from_slice(&height.to_be_bytes());
    // Eight bits, RGB, deflate, the only filter method, not interlaced.
    header.extend_from_slice(&[8, 2, 0, 0, 0]);
    let mut rows = ZlibEncoder::new(Vec::new(), Compression::default());
    for row in pixels.chunks((width as usize * 3).max(1)) {
        rows.write_all(&[0])?;
        rows.write_all(row)?;
    }
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let chunks = [
        (b"IHDR", header),
        (b"IDAT", rows.finish()?),
        (b"IEND", Vec::new()),
    ];
    for (kind, data) in chunks {
        let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
        png.extend_from_slice(&length.to_be_bytes());
        let mut crc = Crc::new();
        crc.update(kind);
        crc.update(&data);
        png.extend_from_slice(kind);
        png.extend_from_slice(&data);
        png.extend_from_slice(&crc.sum().to_be_bytes());
    }
    Ok(png)
}
