// German words for the page of plans.

import { numberText, type Translated } from '../../../language'
import type { plans } from '../../selling/plans'
import { inPeriod } from '../words'

export default {
  title: 'Tarife',
  one: (plan) => `Tarif ${plan}`,
  plan: 'Tarif',
  accounts: 'Konten',
  price: 'Preis',
  factor: (factor) => `× ${factor}`,
  usualPrice: 'Listenpreis',
  priceOf: (model) => `Preis von ${model}`,
  budget: 'Budget',
  budgetOfEach: 'Budget jedes Kontos',
  allowance: 'Kontingent',
  allowanceOfEach: 'Kontingent jedes Kontos',
  limits: 'Grenzen',
  limitsOfKeys: 'Grenzen jedes Schlüssels',
  requestsPerMinute: (count) => `${numberText(count)} Anfragen pro Minute`,
  tokensPerMinute: (count) => `${numberText(count)} Tokens pro Minute`,
  concurrency: (count) => `${numberText(count)} gleichzeitig`,
  models: 'Modelle',
  none: 'keine',
  gone: 'nicht konfiguriert',
  goneMeans:
    'Die Konfiguration enthält ihn nicht mehr: Schlüssel seiner Konten werden abgelehnt, bis er wieder da ist oder sie einen anderen Tarif haben.',
  empty: 'Noch keine Tarife. Sie stehen in der Konfiguration unter plans und gelten nach dem Neuladen.',
  available: 'Verfügbar',
  budgetUsed: 'Verbrauchtes Budget',
  allowanceUsed: 'Verbrauchtes Kontingent',
  ofBudget: (used, of, period) => `${used} von ${of} ${inPeriod(period)}`,
  ofAllowance: (used, of) => `${used} von ${of}`,
  noMembers: 'Kein Konto hat diesen Tarif.',
  add: 'Konto hinzufügen',
  addAction: (plan) => `Tarif ${plan} zuweisen`,
  account: 'Konto',
} satisfies Translated<typeof plans>
