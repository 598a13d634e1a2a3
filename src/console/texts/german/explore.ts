// German words for exploring requests, by operators and holders of keys.

import { numberText, shortNumberText, type Translated } from '../../language'
import { longTimeText } from '../../zone'
import type { explore } from '../explore'
import { counted } from './words'

export default {
  search: 'Anfragen suchen',
  searchExample: 'Text, error:code, model:name, >5s, >$0.01',
  find: 'Suchen',
  conditions: 'Bedingungen',
  remove: 'Entfernen',
  condition: (name, value) => {
    if (name === 'slower_ms') return `Länger als ${value}`
    if (name === 'above_usd') return `Mehr als ${value} bezahlt`
    return name === 'text' ? `Text: ${value}` : `Metadaten: ${value}`
  },
  facets: {
    status: 'Status',
    error: 'Fehler',
    failed_by: 'Verursacht durch',
    model: 'Modell',
    key: 'Schlüssel',
    spender: 'Verbraucher',
    account: 'Konto',
    upstream: 'Upstream',
    operation: 'Art',
  },
  ofWhichFailed: (failed) => `davon ${numberText(failed)} fehlgeschlagen`,
  more: (further) => `${numberText(further)} weitere`,
  fewer: 'Weniger',
  requestsOverTime: 'Anfragen im Zeitverlauf',
  spendOverTime: 'Bezahlt im Zeitverlauf, in Dollar',
  spend: 'Ausgaben',
  answered: 'Beantwortet',
  failed: 'Fehlgeschlagen',
  paid: 'Bezahlt',
  requests: (requests) => counted(requests, 'Anfrage', 'Anfragen'),
  failedBy: (share, failed, by) =>
    `${numberText(failed)} fehlgeschlagen (${share}): ${numberText(by.vendor)} durch Anbieter, ${numberText(by.gateway)} durch das Gateway, ${numberText(by.caller)} durch Aufrufer`,
  paidInAll: (usd) => `${usd} bezahlt`,
  tokens: (input, output) => `${shortNumberText(input)} Tokens ein, ${shortNumberText(output)} aus`,
  firstByte: 'Erstes Byte',
  duration: 'Gesamt',
  percentiles: (name, p50, p99) => `${name} p50 ${p50}, p99 ${p99}`,
  covered: (rows, since) => `Aus den letzten ${numberText(rows)} Anfragen, seit ${longTimeText(since)}`,
} satisfies Translated<typeof explore>
