// All German texts, of the form of the English ones. They are loaded only for readers of German.

import type { Texts } from '../texts'
import accounts from './german/accounts'
import activity from './german/activity'
import allow from './german/allow'
import connect from './german/connect'
import explore from './german/explore'
import frame from './german/frame'
import home from './german/home'
import keys from './german/keys'
import models from './german/models'
import overview from './german/overview'
import ownModels from './german/own-models'
import plans from './german/plans'
import playground from './german/playground'
import requests from './german/requests'
import results from './german/results'
import retention from './german/retention'
import sessions from './german/sessions'
import settings from './german/settings'
import spend from './german/spend'
import spenders from './german/spenders'
import statements from './german/statements'
import tasks from './german/tasks'
import upstreams from './german/upstreams'
import usage from './german/usage'

export const german = {
  texts: {
    ...frame,
    allow,
    overview,
    accounts,
    keys,
    spenders,
    explore,
    requests,
    usage,
    tasks,
    results,
    models,
    upstreams,
    settings,
    spend,
  },
  sellingTexts: { plans, statements, retention, sessions },
  keyTexts: { home, activity, models: ownModels, connect, playground },
} satisfies Texts
