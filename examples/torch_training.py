"""Training in PyTorch with batches of every size: forward and backward through dvm.

Needs the extra `torch`: pip install '.[torch]'
"""

import torch
from torch import nn

import dvm


def main() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 32), nn.SiLU(), nn.LayerNorm(32), nn.Linear(32, 1))
    compiled = dvm.compile(model)  # the same module: it shares the parameters
    steps = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(60):
        x = torch.rand(int(torch.randint(2, 50, ())), 10)
        wanted = x.sin().sum(1, keepdim=True)
        steps.zero_grad()
        loss = (compiled(x) - wanted).square().mean()
        loss.backward()
        steps.step()
        if step % 20 == 0 or step == 59:
            print(f"step {step:2}  loss {loss.item():.4f}")
    print(dvm.explain(compiled)(x))


if __name__ == "__main__":
    main()
