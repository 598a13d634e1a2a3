// German words for the page of keys.

import type { Translated } from '../../language'
import type { keys } from '../keys'
import { counted, inPeriod } from './words'

export default {
  title: 'API-Schlüssel',
  one: (key) => `Schlüssel ${key}`,
  create: 'Neuer Schlüssel',
  open: (key) => `${key} öffnen`,
  empty: 'Noch keine Schlüssel. Legen Sie einen an: Mit ihm entsteht ein Konto, das Sie aufladen.',
  noneOf: (account) => `Kein Kunde mit dem Namen ${account} hat einen Schlüssel.`,
  findCustomer: 'Kunden nach einem Teil des Namens suchen',
  key: 'Schlüssel',
  name: 'Name',
  nameHint: 'Buchstaben, Ziffern, . _ und -',
  secret: 'Geheimnis',
  secretOf: (key) => `Das Geheimnis von ${key}`,
  webhookSecret: 'Das Geheimnis, das seine Webhooks signiert,',
  account: 'Konto',
  accountHint: 'Leer: ein Konto mit demselben Namen',
  status: 'Status',
  available: 'Verfügbar',
  budget: 'Budget',
  budgetPeriod: 'Pro',
  budgetUsed: 'Verbrauchtes Budget',
  ofBudget: (used, budget, period) => `${used} von ${budget} ${inPeriod(period)}`,
  day: 'Tag',
  week: 'Woche',
  month: 'Monat',
  models: 'Modelle',
  someModels: (count) => counted(count, 'Modell', 'Modelle'),
  modelsHint: 'Ids, durch Kommas getrennt. Leer: alle',
  requestsPerMinute: 'Anfragen pro Minute',
  tokensPerMinute: 'Tokens pro Minute',
  concurrency: 'Gleichzeitig',
  limits: 'Grenzen',
  expires: 'Läuft ab',
  expiresUtc: 'Läuft ab, UTC',
  created: 'Angelegt',
  pause: 'Pausieren',
  resume: 'Fortsetzen',
  roll: 'Ersetzen …',
  rollTitle: (key) => `Neues Geheimnis für ${key}`,
  rollMeans: (hint) => `Das Geheimnis ${hint} wird sofort abgelehnt; das neue wird einmal angezeigt.`,
  rollWebhook: 'Webhook-Geheimnis ersetzen …',
  rollWebhookTitle: (key) => `Neues Webhook-Geheimnis für ${key}`,
  rollWebhookMeans:
    'Webhooks werden einen Tag lang mit beiden Geheimnissen signiert, danach nur noch mit dem neuen.',
  revoke: 'Widerrufen …',
  revokeTitle: (key) => `${key} endgültig widerrufen`,
  revokeMeans: (key) =>
    `${key} wird dauerhaft abgelehnt, und der Name wird nicht wieder vergeben. Konto und Guthaben bleiben.`,
  inUse: (running, last) =>
    `${counted(running, 'Anfrage läuft', 'Anfragen laufen')} jetzt mit ihm. ${last === null ? 'Er wurde noch nie verwendet.' : `Zuletzt verwendet: ${last}.`}`,
} satisfies Translated<typeof keys>
