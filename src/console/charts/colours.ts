// Colours of series by their names: a model has the same colour on every page, in every range and in every browser. A name is
// hashed to one of 12 hues in 3 shades. Two names in one chart with the same colour are distinguished by stripes, so that the
// colour of neither changes. Every colour has a contrast of 3:1 to the page in light and dark.

/** How a series is drawn. */
export interface Look {
  /** A CSS colour for light and dark. */
  colour: string
  /** 0 for a plain area; otherwise the number of its stripe pattern. */
  stripes: number
}

const HUES = 12
/** Lightness of the shades in OKLCH: on light pages and on dark ones. */
const SHADES = [
  { light: 0.54, dark: 0.72 },
  { light: 0.64, dark: 0.6 },
  { light: 0.42, dark: 0.84 },
] as const
/** Maximum chroma of a colour; many hues have less in sRGB. */
const MAX_CHROMA = 0.15
const CHROMA_STEP = 0.005

/** The name of the series that sums up all series after the largest ones. */
const OTHERS = 'others'

/** The looks of series, in order. A series with its own colour keeps it. */
export function looksOf(series: readonly { title: string; colour?: string | undefined }[]): Look[] {
  const seen = new Map<string, number>()
  return series.map(({ title, colour = colourOf(title) }) => {
    const stripes = seen.get(colour) ?? 0
    seen.set(colour, stripes + 1)
    return { colour, stripes }
  })
}

/** The colour of a name: `light-dark(#2a5bd7, #6f9bff)`. */
export function colourOf(name: string): string {
  if (name === OTHERS) return 'var(--strong-line)'
  const place = hashOf(name) % (HUES * SHADES.length)
  const shade = SHADES[Math.floor(place / HUES)] ?? SHADES[0]
  const hue = (place % HUES) * (360 / HUES) + 15
  return `light-dark(${hexOf(shade.light, hue)}, ${hexOf(shade.dark, hue)})`
}

/** FNV-1a of the UTF-16 units, mixed again, so that names differing only in their last digit do not get similar colours. */
function hashOf(name: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (hash ^ (hash >>> 13)) >>> 0
}

/** The colour of a hue with the most chroma that sRGB has for it. */
function hexOf(lightness: number, hue: number): string {
  let chroma = MAX_CHROMA
  let channels = linearSrgb(lightness, chroma, hue)
  while (channels.some((each) => each < 0 || each > 1)) {
    chroma -= CHROMA_STEP
    channels = linearSrgb(lightness, chroma, hue)
  }
  return `#${channels.map((each) => byteOf(each).toString(16).padStart(2, '0')).join('')}`
}

/** OKLCH to linear sRGB, by the matrices of https://www.w3.org/TR/css-color-4/#color-conversion-code. */
function linearSrgb(lightness: number, chroma: number, hue: number): [number, number, number] {
  const angle = (hue * Math.PI) / 180
  const [a, b] = [chroma * Math.cos(angle), chroma * Math.sin(angle)]
  const long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
  const middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
  const short = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3
  return [
    4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
    -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
    -0.0041960863 * long - 0.7034186147 * middle + 1.707614701 * short,
  ]
}

function byteOf(linear: number): number {
  const encoded = linear <= 0.0031308 ? linear * 12.92 : 1.055 * linear ** (1 / 2.4) - 0.055
  return Math.round(encoded * 255)
}
