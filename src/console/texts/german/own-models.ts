// German words for the models that a key holder may use.

import type { Translated } from '../../language'
import type { ownModels } from '../own-models'
import { priceUnit } from './words'

export default {
  title: 'Modelle',
  model: 'Modell',
  does: 'Fähigkeiten',
  input: 'Eingabe / 1 Mio.',
  output: 'Ausgabe / 1 Mio.',
  further: 'Weitere Preise',
  context: 'Kontext',
  example: 'Beispiel',
  ends: 'Endet',
  successor: 'Nachfolger',
  filter: 'Suchen',
  empty: 'Dieser Schlüssel darf keine Modelle nutzen.',
  noneFound: 'Kein Modell mit diesem Namen.',
  tryIt: 'Im Playground ausprobieren',
  priceOf: (id) => `Preise von ${id}`,
  what: 'Einheit',
  each: 'Preis',
  route: (ids) => `Geht an das erste dieser Modelle, das antwortet: ${ids}. Es gilt dessen Preis.`,
  free: 'kostenlos',
  above: (size) => `ab mehr als ${size} Eingabe-Tokens`,
  from: 'ab ',
  unit: priceUnit,
  examples: {
    words: (cost) => `1.000 Wörter ein und aus: etwa ${cost}`,
    embedded: (cost) => `100 Seiten Text: etwa ${cost}`,
    spoken: (cost) => `eine Seite vorgelesen: etwa ${cost}`,
    picture: (cost) => `ein Bild: ${cost}`,
    seconds: (cost) => `fünf Sekunden: ${cost}`,
    minutes: (cost) => `eine Minute Ton: etwa ${cost}`,
  },
} satisfies Translated<typeof ownModels>
