// German words for the page of models.

import type { Translated } from '../../language'
import type { models } from '../models'
import { countedUnit, priceUnit } from './words'

export default {
  title: 'Modelle',
  model: 'Modell',
  operations: 'Arten',
  upstream: 'Upstream',
  upstreams: 'Upstreams',
  price: 'Preis',
  requests: 'Anfragen',
  failed: 'Fehlgeschlagen',
  firstByte: 'Erstes Byte',
  duration: 'Gesamtdauer p50',
  route: 'Route',
  tokenPrice: (input, output) => `${input} ein, ${output} aus pro 1 Mio. Tokens`,
  free: 'kostenlos',
  empty: 'Keine passenden Modelle. Sie stehen in der Konfiguration unter models.',
  unknown: (id) => `In der geltenden Konfiguration gibt es kein Modell ${id}.`,
  reason: 'Grund',
  owner: 'Eigentümer',
  aliases: 'Aliasse',
  upstreamModel: 'Name beim Anbieter',
  ends: 'Endet',
  successor: 'Nachfolger',
  handsOver: (successor) => `${successor}, übernimmt an diesem Tag`,
  source: (source, asOf) => `Aus ${source}${asOf ? `, Stand ${asOf}` : ''}`,
  cost: 'Kosten',
  margin: 'Marge',
  unitTitle: 'Einheit',
  costAt: (upstream) => `Kosten bei ${upstream}`,
  marginAt: (upstream) => `Marge bei ${upstream}`,
  calculator: 'Preisrechner',
  calculate: 'Berechnen',
  variant: 'Größe oder Qualität',
  unit: unitText,
  unitPrice: (usd, unit) => `${usd} ${unitText(unit)}`,
  unitPriceFrom: (usd, unit) => `ab ${usd} ${unitText(unit)}`,
  countedUnit,
} satisfies Translated<typeof models>

/** A unit of a price list: `pro 1 Mio. Eingabe-Tokens`. */
function unitText(key: string): string {
  return key.startsWith('per_') ? `pro ${priceUnit(key)}` : key.replaceAll('_', ' ')
}
