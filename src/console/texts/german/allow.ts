// German words for the page on which a program is allowed to connect.

import type { Translated } from '../../language'
import type { allow } from '../allow'

export default {
  title: 'Programm verbinden',
  wants: 'möchte die Werkzeuge dieses Gateways nutzen. Diesen Namen gibt sich das Programm selbst.',
  toHost: (host) =>
    `Wenn Sie zustimmen, wird der Zugang an ${host} gesendet. Stimmen Sie nur zu, wenn Sie von dort kommen.`,
  toThisMachine: (host) =>
    `Wenn Sie zustimmen, wird der Zugang an ein Programm auf diesem Rechner gesendet, unter ${host}. Stimmen Sie nur zu, wenn Sie dieses Programm gestartet haben.`,
  pays: (account, key) =>
    `Es gibt Geld vom Konto ${account} aus, innerhalb der Grenzen des Schlüssels ${key}. Es sieht das Guthaben des Kontos, aber weder den Schlüssel noch Ihre anderen Anfragen.`,
  limit: 'Höchstbetrag in Dollar',
  limitHint: 'So viel kann es insgesamt höchstens ausgeben.',
  ends: 'Zugang endet',
  days: (count) => (count === 1 ? 'in einem Tag' : `in ${count} Tagen`),
  allow: 'Zustimmen',
  refuse: 'Ablehnen',
  needsKey:
    'Sie sind als Betreiber angemeldet. Melden Sie sich ab, und melden Sie sich mit dem Schlüssel an, der zahlen soll.',
} satisfies Translated<typeof allow>
