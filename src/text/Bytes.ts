import { ByteSize, Option } from "effect"

/** Parses a number of bytes such as `10 GiB`, `500MB` or `1048576`. Returns undefined for any other text. */
export const parseBytes = (text: string): number | undefined => {
  const plain = /^\d+$/.test(text.trim()) ? `${text.trim()} B` : text.trim()
  const bytes = Option.match(ByteSize.fromString(plain), { onNone: () => NaN, onSome: Number })
  return bytes >= 1 && Number.isSafeInteger(bytes) ? bytes : undefined
}

const units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"]

/** Formats a number of bytes, such as `1.5 GiB`. */
export const formatBytes = (bytes: number): string => {
  let value = bytes
  let unit = 0
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024
  return `${unit === 0 || value >= 100 ? Math.round(value) : Math.round(value * 10) / 10} ${units[unit]}`
}
