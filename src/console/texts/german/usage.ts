// German words for the page of usage.

import { named, numberText, type Translated } from '../../language'
import type { usage } from '../usage'
import { counted } from './words'

const spans = named({ day: 'Tag', hour: 'Stunde' })

export default {
  title: 'Nutzung',
  by: 'Gruppieren nach',
  and: 'dann nach',
  nothingElse: 'nichts weiter',
  byDimension: (name) => `Gruppieren nach ${name}`,
  andDimension: (name) => `dann nach ${name}`,
  dimensions: {
    key: 'Schlüssel',
    account: 'Konto',
    model: 'Modell',
    operation: 'Art',
    day: 'Tag (UTC)',
    hour: 'Stunde (UTC)',
  },
  month: 'Monat …',
  total: 'Gesamt',
  requests: 'Anfragen',
  running: 'Laufend',
  notCharged: 'Nicht berechnet',
  failedByVendor: 'Fehler: Anbieter',
  failedByGateway: 'Fehler: Gateway',
  failedByCaller: 'Fehler: Aufrufer',
  failed: (vendor, gateway, caller) =>
    `${numberText(vendor + gateway + caller)} fehlgeschlagen: ${numberText(vendor)} durch Anbieter, ${numberText(gateway)} durch das Gateway, ${numberText(caller)} durch Aufrufer. Die meisten davon kosten nichts.`,
  paid: 'Umsatz',
  revenue: 'Umsatz',
  marginShare: 'Marge %',
  before: { before: 'Davor', year: 'Vorjahr', none: '' },
  change: 'Änderung',
  isNew: 'neu',
  changed: (now, percent, compared, before) => `${now}: ${percent} zum Vergleich (${compared}: ${before}).`,
  nothingBefore: (compared) => `Im Vergleich (${compared}) wurde nichts bezahlt.`,
  tooMany:
    'Das Ergebnis hat mehr als 20.000 Zeilen. Wählen Sie einen kürzeren Zeitraum, Tage statt Stunden oder nur eine Gruppierung.',
  asFile: 'Alle Zeilen als CSV herunterladen',
  cost: 'Kosten',
  margin: 'Marge',
  shortfall: 'Fehlbetrag',
  saved: 'Gespart',
  savedHint:
    'Durch Caches der Anbieter gespart: der normale Preis der Eingabe aus dem Cache abzüglich dessen, was dafür bezahlt wurde. Gelesen werden dafür alle Belastungen des Zeitraums.',
  savedUnknown: (count) =>
    `Für ${counted(count, 'Anfrage', 'Anfragen')} ist nicht bekannt, was Caches gespart haben; sie fehlen in der Summe.`,
  others: 'andere',
  chart: (time) => `Umsatz pro ${spans[time] ?? time} (UTC), in Dollar`,
} satisfies Translated<typeof usage>
