import torch


class GraphModule(torch.nn.Module):
    def forward(
        self,
        L_self_modules_conv_parameters_weight_: torch.nn.parameter.Parameter,
        L_x_: torch.Tensor,
        L_self_modules_bn_buffers_running_mean_: torch.Tensor,
        L_self_modules_bn_buffers_running_var_: torch.Tensor,
        L_self_modules_fc_parameters_weight_: torch.nn.parameter.Parameter,
        L_self_modules_fc_parameters_bias_: torch.nn.parameter.Parameter,
    ):
        l_self_modules_conv_parameters_weight_ = L_self_modules_conv_parameters_weight_
        l_x_ = L_x_
        l_self_modules_bn_buffers_running_mean_ = L_self_modules_bn_buffers_running_mean_
        l_self_modules_bn_buffers_running_var_ = L_self_modules_bn_buffers_running_var_
        l_self_modules_fc_parameters_weight_ = L_self_modules_fc_parameters_weight_
        l_self_modules_fc_parameters_bias_ = L_self_modules_fc_parameters_bias_
        x = torch.conv2d(
            l_x_, l_self_modules_conv_parameters_weight_, None, (1, 1), (1, 1), (1, 1), 1
        )
        l_x_ = l_self_modules_conv_parameters_weight_ = None
        x_1 = torch.nn.functional.batch_norm(
            x,
            l_self_modules_bn_buffers_running_mean_,
            l_self_modules_bn_buffers_running_var_,
            None,
            None,
            False,
            0.1,
            1e-05,
        )
        l_self_modules_bn_buffers_running_mean_ = (
            l_self_modules_bn_buffers_running_var_
        ) = None
        x_1 += x
        x_2 = x_1
        x_1 = x = None
        x_3 = torch.nn.functional.relu(x_2, inplace=True)
        x_2 = None
        x_4 = x_3.mean(dim=[2, 3])
        x_3 = None
        x_5 = torch._C._nn.linear(
            x_4,
            l_self_modules_fc_parameters_weight_,
            l_self_modules_fc_parameters_bias_,
        )
        x_4 = (
            l_self_modules_fc_parameters_weight_
        ) = l_self_modules_fc_parameters_bias_ = None
        chunk = x_5.view(-1, 6, 2).chunk(2, dim=1)
        getitem = chunk[0]
        getitem_1 = chunk[(slice(None, None, None), 1)]
        chunk = None
        add = getitem + getitem_1
        getitem = getitem_1 = None
        mask = torch.zeros(6, device=device(type="cpu"))
        mask[0] = 1
        setitem = mask
        setitem = None
        mul = add * -0.5
        add = None
        return (mul, x_5, mask)
