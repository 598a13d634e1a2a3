// German words for spending by time and by model.

import type { Translated } from '../../language'
import type { spend } from '../spend'

export default {
  spend: (span) => `Ausgaben pro ${span === 'hour' ? 'Stunde' : 'Tag'} in Dollar`,
  byModel: 'Ausgaben pro Modell',
  csvByModel: 'CSV pro Modell',
  csvBy: (span) => `CSV pro ${span === 'hour' ? 'Stunde' : 'Tag'}`,
  model: 'Modell',
  requests: 'Anfragen',
  share: 'Anteil',
  amount: 'Betrag',
  total: 'Gesamt',
  day: 'Tag',
  hour: 'Stunde',
} satisfies Translated<typeof spend>
