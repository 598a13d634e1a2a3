// German words for names that the gateway's API uses in its answers, and for the units of prices. A name that is not listed is shown as it is.

import type { PriceKey, Unit } from '../../../contract/units'
import { named, numberText } from '../../language'

const periods = named({ day: 'Tag', week: 'Woche', month: 'Monat', hour: 'Stunde' })

/** `pro Tag`. */
export function perPeriod(period: string): string {
  return period === '' ? '' : `pro ${periods[period] ?? period}`
}

/** `heute`, `diese Woche`. */
export function inPeriod(period: string): string {
  const current = named({ day: 'heute', week: 'in dieser Woche', month: 'in diesem Monat' })
  return current[period] ?? perPeriod(period)
}

/** A count with its noun: `1 Anfrage`, `2.000 Anfragen`. */
export function counted(count: number, one: string, several: string): string {
  return `${numberText(count)} ${count === 1 ? one : several}`
}

const prices: Readonly<Record<PriceKey, string>> = {
  per_request: 'Anfrage',
  per_1m_input_tokens: '1 Mio. Eingabe-Tokens',
  per_1m_cached_input_tokens: '1 Mio. Eingabe-Tokens aus dem Cache',
  per_1m_cache_write_tokens: '1 Mio. Tokens in den Cache',
  per_1m_cache_write_1h_tokens: '1 Mio. Tokens in den Cache für 1 h',
  per_1m_output_tokens: '1 Mio. Ausgabe-Tokens',
  per_1m_input_image_tokens: '1 Mio. Bild-Tokens ein',
  per_1m_output_image_tokens: '1 Mio. Bild-Tokens aus',
  per_1m_input_audio_tokens: '1 Mio. Audio-Tokens ein',
  per_1m_cached_input_audio_tokens: '1 Mio. Audio-Tokens aus dem Cache',
  per_1m_output_audio_tokens: '1 Mio. Audio-Tokens aus',
  per_1m_output_video_tokens: '1 Mio. Video-Tokens aus',
  per_1m_characters: '1 Mio. Zeichen',
  per_image: 'Bild',
  per_input_image: 'Eingabebild',
  per_video: 'Video',
  per_second: 'Sekunde',
  per_input_second: 'Eingabesekunde',
  per_audio_minute: 'Audiominute',
  per_1k_searches: '1.000 Abfragen',
  per_1k_web_searches: '1.000 Websuchen',
  per_1k_grounded_prompts: '1.000 Anfragen mit Websuche',
  per_1k_search_sources: '1.000 Quellen einer Websuche',
}

const counts: Readonly<Record<Unit, readonly [one: string, several: string]>> = {
  request: ['Anfrage', 'Anfragen'],
  input_token: ['Eingabe-Token', 'Eingabe-Tokens'],
  cached_input_token: ['Eingabe-Token aus dem Cache', 'Eingabe-Tokens aus dem Cache'],
  cache_write_token: ['Token in den Cache', 'Tokens in den Cache'],
  cache_write_1h_token: ['Token in den Cache für 1 h', 'Tokens in den Cache für 1 h'],
  output_token: ['Ausgabe-Token', 'Ausgabe-Tokens'],
  input_image_token: ['Bild-Token ein', 'Bild-Tokens ein'],
  output_image_token: ['Bild-Token aus', 'Bild-Tokens aus'],
  input_audio_token: ['Audio-Token ein', 'Audio-Tokens ein'],
  cached_input_audio_token: ['Audio-Token aus dem Cache', 'Audio-Tokens aus dem Cache'],
  output_audio_token: ['Audio-Token aus', 'Audio-Tokens aus'],
  output_video_token: ['Video-Token aus', 'Video-Tokens aus'],
  character: ['Zeichen', 'Zeichen'],
  image: ['Bild', 'Bilder'],
  input_image: ['Eingabebild', 'Eingabebilder'],
  video: ['Video', 'Videos'],
  second: ['Sekunde', 'Sekunden'],
  input_second: ['Eingabesekunde', 'Eingabesekunden'],
  audio_second: ['Audiosekunde', 'Audiosekunden'],
  search: ['Abfrage', 'Abfragen'],
  web_search: ['Websuche', 'Websuchen'],
  grounded_prompt: ['Anfrage mit Websuche', 'Anfragen mit Websuche'],
  search_source: ['Quelle einer Websuche', 'Quellen einer Websuche'],
}

/** The unit of a price, by its name in a price list: `1 Mio. Eingabe-Tokens`. */
export function priceUnit(key: string): string {
  return (prices as Readonly<Record<string, string>>)[key] ?? key.replaceAll('_', ' ')
}

/** A unit by its name: `input tokens` or `input_token`. */
export function countedUnit(unit: string): string {
  const name = unit.replaceAll(' ', '_')
  for (const [each, [one, several]] of Object.entries(counts)) {
    if (name === each) return one
    if (name === `${each}s` || name === `${each}es`) return several
  }
  return unit.replaceAll('_', ' ')
}
