// German words for the page that compares vendors' bills with the charges.

import { named, numberText, type Translated } from '../../../language'
import type { reconciliation } from '../../selling/reconciliation'
import { counted } from '../words'

export default {
  byFile: 'Die Datei eines Anbieters mit den Buchungen vergleichen',
  byFileMeans:
    'Exportieren Sie beim Anbieter Nutzung oder Kosten nach Tag und Modell als CSV. Die Dateien bleiben in diesem Browser: Verglichen werden nur ihre Summen, und nichts wird geändert.',
  drop: 'CSV-Dateien hierher ziehen oder auswählen',
  files: (names) => `Dateien: ${names}`,
  upstream: 'Upstream',
  month: 'Monat',
  monthHint: 'In UTC, zum Beispiel 2026-10',
  tolerance: 'Toleranz in Prozent',
  compare: 'Vergleichen',
  unreadable: (file, why) => `${file} lässt sich nicht vergleichen: ${why}.`,
  nothingOfMonth: (month) => `Die Dateien enthalten nichts von ${month}.`,
  noFiles: 'Wählen Sie zuerst die Dateien aus, die der Anbieter exportiert hat.',
  same: (compared) => `Die Werte stimmen überein: ${numberText(compared)} verglichen.`,
  differ: (count, compared) =>
    `${numberText(count)} von ${counted(compared, 'Wert weicht', 'Werten weichen')} ab.`,
  withoutFigures: (count) =>
    `${counted(count, 'Buchung hat', 'Buchungen haben')} keine Nutzungswerte des Anbieters und ${count === 1 ? 'lässt' : 'lassen'} sich nicht vergleichen.`,
  shared: (models) => `Diese Modelle laufen auch über andere Upstreams: ${models}.`,
  day: 'Tag',
  model: 'Modell',
  figure: 'Wert',
  figures: named({
    requests: 'Anfragen',
    input_tokens: 'Eingabe-Tokens',
    output_tokens: 'Ausgabe-Tokens',
    cost_usd: 'Kosten',
  }),
  vendor: 'Anbieter',
  charges: 'Buchungen',
  difference: 'Abweichung',
  differences: 'Abweichungen',
  sums: 'Summen des Monats',
  own: 'Preise, die Anbieter für einzelne Anfragen gemeldet haben',
  ownMeans: 'Nach Modell, für die letzten 30 Tage, neben der Preisliste.',
  requests: 'Anfragen',
  ours: 'Preisliste',
  noReports: 'In den letzten 30 Tagen hat kein Anbieter einen Preis gemeldet.',
  notCompared: (count) =>
    `${counted(count, 'Anfrage', 'Anfragen')} nicht vergleichbar: Der Wert des Anbieters ist unbrauchbar.`,
} satisfies Translated<typeof reconciliation>
