// Formats sizes for people: `3.4 MB`. It must never be used for a size that is parsed again.

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB']
const STEP = 1000

export function bytesText(bytes: number): string {
  const power = bytes < STEP ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3))
  const value = bytes / STEP ** power
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[power]}`
}
