def synthesise(*a, **k): raise NotImplementedError
