"""The registry of formats; `docs/formats.md` is generated from it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """One row of the registry; `docs/formats.md` is generated from it.

    Attributes:
        name: short and stable; stands in error messages and in the table of openers.
        mime: the type that is reported.
        extensions: lower case, without the dot; the first is the usual one.
        engines: names of the openers in order of preference; empty: named but not decoded.
        kept, noted, refused: sentences for the documentation.
        image: False for what is no picture at all.
        pages: what `page=` counts, or "".
    """

    name: str
    mime: str
    extensions: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    kept: str = ""
    noted: str = ""
    refused: str = ""
    image: bool = True
    pages: str = ""
    aliases: tuple[str, ...] = ()  # other MIME types that mean the same

    @property
    def title(self) -> str:
        """As a person writes it."""
        return {"heif": "HEIC/HEIF", "jp2": "JPEG 2000", "jxl": "JPEG XL", "webp": "WebP", "cgbi": "CgBI PNG"}.get(
            self.name, self.name.upper()
        )


_TRUNCATED = "Truncated picture data (drawn with `allow_truncated`)"
_TRUNCATED_HARD = "Truncated picture data, also with `allow_truncated`: the codec gives all or nothing"

FORMATS: dict[str, Format] = {
    row.name: row
    for row in (
        Format(
            "png",
            "image/png",
            ("png", "apng"),
            ("vips", "pillow"),
            "Colour by cICP, iCCP, sRGB, gAMA and cHRM; palette and colour-key transparency; eXIf orientation; APNG frames",
            "16 bits, transparency, profile, metadata, frames left out, wrong check sums, data after IEND",
            _TRUNCATED,
            pages="APNG frame, as shown",
            aliases=("image/apng", "image/x-png", "image/vnd.mozilla.apng"),
        ),
        Format(
            "jpeg",
            "image/jpeg",
            ("jpg", "jpeg", "jpe", "jfif", "mpo"),
            ("vips", "pillow"),
            "EXIF orientation, CMYK and YCCK, ICC profile; of MPO, Motion Photo and gain-map files the base picture",
            "CMYK, profile, metadata, missing end marker, damaged entropy data, data after the picture",
            _TRUNCATED,
            aliases=("image/jpg", "image/pjpeg", "image/mpo"),
        ),
        Format(
            "gif",
            "image/gif",
            ("gif",),
            ("vips", "pillow"),
            "The whole canvas of the frame, as shown",
            "Frames left out, transparency, data after the trailer",
            _TRUNCATED,
            pages="frame, as shown",
        ),
        Format(
            "webp",
            "image/webp",
            ("webp",),
            ("vips", "pillow"),
            "EXIF orientation, ICC profile, the whole canvas of the frame",
            "Frames left out, transparency, profile, metadata, data after the RIFF chunk",
            _TRUNCATED_HARD,
            pages="frame, as shown",
        ),
        Format(
            "tiff",
            "image/tiff",
            ("tif", "tiff", "btf", "tf8"),
            ("vips", "pillow"),
            "Orientation, CMYK, Lab, 1 to 32 bits, float, BigTIFF, tiles, fax, LZW, JPEG",
            "Depth and range, pages left out, profile, transparency, metadata",
            _TRUNCATED + "; numbers of 64 bits, ITU Lab, raw photographs (DNG, NEF, ARW)",
            pages="page",
        ),
        Format(
            "avif",
            "image/avif",
            ("avif", "avifs"),
            ("vips", "avif", "pillow"),
            "The container's rotation and mirror, ICC and CICP colour, 8 to 12 bits",
            "HDR is tone-mapped, frames left out, profile, depth, transparency, metadata",
            _TRUNCATED_HARD,
            pages="frame of a sequence",
            aliases=("image/avif-sequence",),
        ),
        Format(
            "heif",
            "image/heic",
            ("heic", "heif", "hif", "heics"),
            ("heif",),
            "The container's rotation and mirror, ICC and CICP colour, 8 to 12 bits",
            "HDR is tone-mapped, pictures left out, profile, depth, transparency, metadata",
            _TRUNCATED_HARD,
            pages="picture, the primary one first",
            aliases=("image/heif", "image/heic-sequence", "image/heif-sequence"),
        ),
        Format(
            "svg",
            "image/svg+xml",
            ("svg", "svgz"),
            ("svg",),
            "Drawn at its intrinsic size, at least 512 px on the longer side",
            "What the sanitizer removed, text that could not be drawn",
            "Unsafe references, too deep, too many elements, no drawable size",
            aliases=("image/svg",),
        ),
        Format(
            "pdf",
            "application/pdf",
            ("pdf",),
            ("pdf",),
            "The page at a resolution that fits the ceiling",
            "Pages left out",
            "Encrypted, empty and huge pages",
            pages="page",
            aliases=("application/x-pdf",),
        ),
        Format(
            "bmp",
            "image/bmp",
            ("bmp", "dib"),
            ("pillow",),
            "1 to 32 bits, RLE, bit fields, an embedded profile",
            "An alpha byte that is used; one that is zero everywhere is ignored; runs that end early",
            _TRUNCATED + "; PNG or JPEG inside, 2 and 64 bits",
            aliases=("image/x-ms-bmp", "image/x-bmp"),
        ),
        Format(
            "ico",
            "image/x-icon",
            ("ico",),
            ("pillow",),
            "The largest picture",
            "Pictures left out, transparency",
            _TRUNCATED,
            pages="picture, the largest first",
            aliases=("image/vnd.microsoft.icon", "image/ico"),
        ),
        Format(
            "cur",
            "image/x-win-bitmap",
            ("cur",),
            ("pillow",),
            "The largest picture",
            "Pictures left out, transparency",
            "A cursor without a picture",
            pages="picture, the largest first",
        ),
        Format("icns", "image/icns", ("icns",), ("pillow",), "The largest picture", "Transparency", _TRUNCATED),
        Format(
            "psd",
            "image/vnd.adobe.photoshop",
            ("psd", "psb"),
            ("pillow",),
            "The flattened composite",
            "CMYK, transparency, layers; a saved selection is no transparency",
            "Files without a composite, 16 and 32 bits a channel, the large form (PSB)",
            aliases=("application/x-photoshop", "image/x-photoshop"),
        ),
        Format(
            "jp2",
            "image/jp2",
            ("jp2", "j2k", "j2c", "jpx", "jpf", "jpc"),
            ("pillow",),
            "8 to 16 bits, grey and RGB, ICC profile",
            "Depth, profile, transparency",
            _TRUNCATED_HARD,
            aliases=("image/jpx", "image/j2c"),
        ),
        Format(
            "pnm",
            "image/x-portable-anymap",
            ("ppm", "pgm", "pbm", "pnm", "pfm"),
            ("pillow",),
            "P1 to P6, 8 and 16 bits, grey float",
            "Depth",
            _TRUNCATED + "; PAM (P7) and PFM in colour",
            aliases=("image/x-portable-pixmap", "image/x-portable-graymap", "image/x-portable-bitmap"),
        ),
        Format(
            "tga",
            "image/x-tga",
            ("tga", "icb", "vda", "vst"),
            ("pillow",),
            "8 to 32 bits, RLE",
            "Transparency where the file says that it has any; the one bit of 16 is not taken for it",
            _TRUNCATED,
            aliases=("image/x-targa", "image/targa"),
        ),
        Format(
            "dds",
            "image/vnd-ms.dds",
            ("dds",),
            ("pillow",),
            "The largest level",
            "Transparency",
            _TRUNCATED,
            aliases=("image/x-dds",),
        ),
        Format("pcx", "image/x-pcx", ("pcx",), ("pillow",), "1 to 24 bits", "", _TRUNCATED, aliases=("image/vnd.zbrush.pcx",)),
        Format("qoi", "image/qoi", ("qoi",), ("pillow",), "RGB and RGBA", "Transparency", _TRUNCATED),
        Format("sgi", "image/sgi", ("sgi", "rgb", "rgba", "bw"), ("pillow",), "8 and 16 bits", "Depth, transparency", _TRUNCATED),
        # Named, so that the error can say what it is.
        Format(
            "cgbi",
            "image/x-apple-cgbi",
            refused="this is Apple's variant of PNG from an app bundle: send the original, or convert it with "
            "`xcrun pngcrush -revert-iphone-optimizations`",
        ),
        Format("jxl", "image/jxl", ("jxl",)),
        Format("jxr", "image/jxr", ("jxr", "wdp", "hdp"), aliases=("image/vnd.ms-photo",)),
        Format("jls", "image/jls", ("jls",)),
        Format("bpg", "image/bpg", ("bpg",)),
        Format("flif", "image/flif", ("flif",)),
        Format("exr", "image/x-exr", ("exr",)),
        Format("hdr", "image/vnd.radiance", ("hdr",)),
        Format("fits", "image/fits", ("fits", "fit")),
        Format("mng", "video/x-mng", ("mng", "jng")),
        Format("xcf", "image/x-xcf", ("xcf",)),
        Format("djvu", "image/vnd.djvu", ("djvu", "djv")),
        Format("eps", "application/postscript", ("eps", "ps")),
        Format("emf", "image/emf", ("emf",)),
        Format("wmf", "image/wmf", ("wmf",)),
        Format("ani", "application/x-navi-animation", ("ani",)),
        Format("raw", "image/x-raw", ("cr2", "cr3", "raf", "orf", "rw2", "x3f")),
        Format("ktx", "image/ktx", ("ktx", "ktx2")),
        Format("dicom", "application/dicom", ("dcm",)),
        # No pictures at all.
        Format("empty", "application/x-empty", image=False),
        Format("text", "text/plain", ("txt", "md", "csv", "log"), image=False),
        Format("json", "application/json", ("json",), image=False),
        Format("html", "text/html", ("html", "htm"), image=False),
        Format("xml", "application/xml", ("xml",), image=False, aliases=("text/xml",)),
        Format("zip", "application/zip", ("zip", "docx", "xlsx", "pptx", "jar"), image=False),
        Format("gzip", "application/gzip", ("gz", "tgz"), image=False),
        Format("7z", "application/x-7z-compressed", ("7z",), image=False),
        Format("rar", "application/vnd.rar", ("rar",), image=False),
        Format("xz", "application/x-xz", ("xz",), image=False),
        Format("zstd", "application/zstd", ("zst",), image=False),
        Format("bzip2", "application/x-bzip2", ("bz2",), image=False),
        Format("mp4", "video/mp4", ("mp4", "mov", "m4v", "3gp", "m4a"), image=False, aliases=("video/quicktime",)),
        Format("webm", "video/webm", ("webm", "mkv"), image=False),
        Format("riff", "application/x-riff", ("wav", "avi"), image=False),
        Format("ogg", "application/ogg", ("ogg", "ogv", "oga"), image=False),
        Format("mp3", "audio/mpeg", ("mp3",), image=False),
        Format("elf", "application/x-elf", image=False),
        Format("exe", "application/vnd.microsoft.portable-executable", ("exe", "dll"), image=False),
        Format("sqlite", "application/vnd.sqlite3", ("sqlite", "db"), image=False),
        Format("lfs", "text/x-git-lfs-pointer", image=False),
        Format("unknown", "application/octet-stream", image=False),
    )
}
