// German words for kept results, wherever they are shown.

import type { Translated } from '../../language'
import type { results } from '../results'

export default {
  picture: 'Gespeichertes Bild',
  enlarge: 'Gespeichertes Bild vergrößern',
  video: 'Gespeichertes Video',
  sound: 'Gespeicherter Ton',
  file: (type, size) => `${type}, ${size}`,
  until: 'gespeichert bis',
} satisfies Translated<typeof results>
