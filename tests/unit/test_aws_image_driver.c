/* The driver that an image's name implies. */
#include "aws/image_driver.h"
#include <glib.h>

static void test_names(void)
{
	static const struct {
		const char *image, *version, *modules;
	} rows[] = {
		{"Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04) 20261001",
			"595.91.07", "open"},
		{"Deep Learning ARM64 Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04) 20260101",
			"580.105.08", "open"},
		{"Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04) 20240101", NULL,
			"open"},
		{"Deep Learning OSS Nvidia Driver AMI GPU PyTorch 2.7 (Ubuntu 22.04) 20261001",
			NULL, "open"},
		{"Deep Learning Base Proprietary Nvidia Driver AMI (Amazon Linux 2) Version 71.6",
			"570.195.03", "proprietary"},
		{"Deep Learning Base Proprietary Nvidia Driver AMI (Amazon Linux 2) Version 9.0",
			NULL, "proprietary"},
		{"ubuntu/images/hvm-ssd/ubuntu-jammy-22.04-amd64-server-20260920", NULL, NULL},
		{"", NULL, NULL},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		json_auto_t *driver = aws_image_driver(rows[i].image);
		g_test_message("%s", rows[i].image);
		g_assert_cmpstr(
			json_string_value(json_object_get(driver, "version")), ==, rows[i].version);
		g_assert_cmpstr(
			json_string_value(json_object_get(driver, "modules")), ==, rows[i].modules);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/aws/image-driver/names", test_names);
	return g_test_run();
}
