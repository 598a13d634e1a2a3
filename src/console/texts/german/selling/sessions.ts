// German words of sessions of the console.

import { named, type Translated } from '../../../language'
import type { sessions } from '../../selling/sessions'

export default {
  title: 'Sitzungen',
  who: 'Wer',
  kind: 'Angemeldet mit',
  kinds: named({ admin: 'Admin-Token', key: 'API-Schlüssel' }),
  filterKinds: [
    ['admin', 'Admins'],
    ['key', 'Inhaber von Schlüsseln'],
  ],
  status: 'Status',
  began: 'Begonnen',
  used: 'Zuletzt verwendet',
  ends: 'Endet',
  from: 'Von',
  browser: 'Browser',
  actions: 'Aktionen',
  end: 'Sitzung beenden',
  empty: 'Keine Sitzungen. Eine beginnt, wenn sich jemand an der Konsole anmeldet.',
} satisfies Translated<typeof sessions>
