// German words for the page of upstreams.

import { named, numberText, type Translated } from '../../language'
import type { upstreams } from '../upstreams'

export default {
  title: 'Upstreams',
  parts: { state: 'Zustand', reconciliation: 'Abgleich' },
  upstream: 'Upstream',
  kind: 'Art',
  models: 'Modelle',
  running: 'Laufend / höchstens',
  requests: 'Anfragen',
  failed: 'Fehlgeschlagen',
  firstByte: 'Erstes Byte, p50',
  slowest: 'p99',
  duration: 'Gesamtdauer p50',
  address: 'Adresse',
  empty: 'Noch ist kein Upstream erreichbar: Keiner hat einen Schlüssel.',
  unknown: (name) => `In der geltenden Konfiguration gibt es keinen Upstream ${name}.`,
  failures: 'Fehlgeschlagene Anfragen',
  model: 'Modell',
  refusals: 'Von Anbietern abgelehnt',
  refusalsMean:
    'Anfragen, die Anbieter wegen ihres Inhalts abgelehnt haben, nach Modell und Feld. Kann ein Feld entfallen, tragen Sie es in omittedFields ein.',
  noRefusals: 'Kein Anbieter hat eine Anfrage wegen ihres Inhalts abgelehnt.',
  field: 'Feld',
  words: 'Wortlaut des Anbieters',
  count: 'Anzahl',
  last: 'Zuletzt',
  states: named({
    none: 'kein Schlüssel',
    closed: 'in Ordnung',
    open: 'ausgefallen',
    'half-open': 'wird erneut versucht',
  }),
  drills: 'Laufende Störungsübungen',
  drill: (upstream, fault, percent, keys, ends) =>
    `Störungsübung: ${upstream} scheitert mit ${fault} bei ${numberText(percent)} % der Anfragen von ${keys}, bis ${ends} UTC`,
  drillKeys: (count) => (count === 1 ? '1 Schlüssel' : `${numberText(count)} Schlüsseln`),
  stopDrill: 'Übung beenden',
  test: 'Testen',
  tested: named({
    ready: 'antwortet und nimmt den Schlüssel an',
    reached: 'antwortet',
    failed: 'fehlgeschlagen',
  }),
} satisfies Translated<typeof upstreams>
