# Prints the prices that the package genai-prices has for the models that standard input asks for, as JSON. Amounts stay the
# texts of its decimals.

import json
import sys
from datetime import datetime, timezone

sys.path.insert(0, sys.argv[1])
from genai_prices import data  # noqa: E402

providers = {provider.id: provider for provider in data.providers}


def amount_of(price):
    if hasattr(price, 'base'):
        tiers = [{'above': tier.start, 'amount': str(tier.price)} for tier in price.tiers]
        return {'base': str(price.base), 'tiers': tiers}
    return {'base': str(price), 'tiers': []}


# A day's dear hours, where a vendor is cheaper at others.
at = datetime.fromisoformat(sys.argv[2]).replace(hour=2, tzinfo=timezone.utc)
found = {}
for asked in json.load(sys.stdin):
    model = providers[asked['provider']].find_model(asked['model'])
    if model is None:
        continue
    prices = model.get_prices(at)
    found[f"{asked['provider']}/{asked['model']}"] = {
        'contextTokens': model.context_window,
        'prices': {name: amount_of(price) for name, price in vars(prices).items() if price is not None},
    }
json.dump(found, sys.stdout)
